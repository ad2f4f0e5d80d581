//! A browser without a window, driven over the WebDriver protocol: a few requests with JSON.

use anyhow::{Context, Result, bail};
use base64::Engine;
use serde_json::{Value, json};
use std::{
    fs,
    io::{BufRead, BufReader},
    path::Path,
    process::{Child, Command, Stdio},
    thread,
    time::{Duration, Instant},
};
use tempfile::TempDir;

/// How long one request may take; a machine that is busy starts a browser slowly.
const PATIENCE: Duration = Duration::from_secs(90);

/// A browser with one window.
pub(crate) struct Browser {
    driver: Child,
    address: String,
    agent: ureq::Agent,
    /// Deleted after the browser has ended.
    _profile: TempDir,
}

impl Browser {
    /// Starts Chromium through its driver.
    pub(crate) fn start(driver: &Path, chromium: &Path) -> Result<Self> {
        let profile = tempfile::tempdir().context("cannot make a folder for the browser")?;
        let mut child = Command::new(driver)
            .arg("--port=0")
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .with_context(|| format!("cannot start {}", driver.display()))?;
        let port = child.stdout.take().map(port).transpose();
        let config = ureq::Agent::config_builder()
            .timeout_global(Some(PATIENCE))
            .http_status_as_error(false)
            .build();
        let mut browser = Self {
            driver: child,
            address: String::new(),
            agent: config.new_agent(),
            _profile: profile,
        };
        let server = match port? {
            Some(port) => format!("http://127.0.0.1:{port}"),
            None => bail!("the driver of the browser says nothing"),
        };
        let options = json!({
            "binary": chromium,
            "args": [
                "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
                "--disable-background-networking", "--disable-component-update", "--disable-sync",
                "--disable-dev-shm-usage", "--hide-scrollbars", "--window-size=1100,900",
                format!("--user-data-dir={}", browser._profile.path().display()),
            ],
        });
        let capabilities = json!({"capabilities": {"alwaysMatch": {
            "browserName": "chrome",
            "goog:chromeOptions": options,
            "goog:loggingPrefs": {"browser": "ALL"},
        }}});
        let session = browser.send(&format!("{server}/session"), &capabilities)?;
        let name = session["sessionId"].as_str().context("the driver opened no session")?;
        browser.address = format!("{server}/session/{name}");
        Ok(browser)
    }

    /// Opens a file.
    pub(crate) fn open(&self, page: &Path) -> Result<()> {
        let page = fs::canonicalize(page).with_context(|| format!("no {}", page.display()))?;
        self.post("url", &json!({"url": format!("file://{}", page.display())})).map(drop)
    }

    /// What a script returns.
    pub(crate) fn script(&self, script: &str) -> Result<Value> {
        self.post("execute/sync", &json!({"script": script, "args": []}))
    }

    /// Moves the mouse to a place of the window.
    pub(crate) fn point(&self, x: f64, y: f64) -> Result<()> {
        let moves = json!([{"type": "pointerMove", "duration": 0, "x": x as i64, "y": y as i64}]);
        self.act(json!({
            "type": "pointer", "id": "mouse", "parameters": {"pointerType": "mouse"}, "actions": moves
        }))
    }

    /// Touches a place of the window.
    pub(crate) fn tap(&self, x: f64, y: f64) -> Result<()> {
        let moves = json!([
            {"type": "pointerMove", "duration": 0, "x": x as i64, "y": y as i64},
            {"type": "pointerDown", "button": 0},
            {"type": "pointerUp", "button": 0},
        ]);
        self.act(json!({
            "type": "pointer", "id": "finger", "parameters": {"pointerType": "touch"},
            "actions": moves
        }))
    }

    /// Presses a key, by its letter in the protocol.
    pub(crate) fn press(&self, key: char) -> Result<()> {
        let moves = json!([{"type": "keyDown", "value": key}, {"type": "keyUp", "value": key}]);
        self.act(json!({"type": "key", "id": "keyboard", "actions": moves}))
    }

    /// Light or dark, as the system of a reader would ask for it.
    pub(crate) fn prefer(&self, scheme: &str) -> Result<()> {
        let feature = json!({"name": "prefers-color-scheme", "value": scheme});
        self.command("Emulation.setEmulatedMedia", json!({"features": [feature]})).map(drop)
    }

    /// The size of the window, in the pixels of a page.
    pub(crate) fn resize(&self, width: u32, height: u32, is_phone: bool) -> Result<()> {
        let size = json!({
            "width": width, "height": height, "mobile": is_phone,
            "deviceScaleFactor": if is_phone { 2 } else { 1 },
        });
        self.command("Emulation.setDeviceMetricsOverride", size).map(drop)
    }

    /// All of the page as a picture, however long it is.
    pub(crate) fn picture(&self, path: &Path) -> Result<()> {
        let shot = json!({"format": "png", "captureBeyondViewport": true});
        let shot = self.command("Page.captureScreenshot", shot)?;
        let text = shot["data"].as_str().context("the browser took no picture")?;
        let bytes = base64::engine::general_purpose::STANDARD.decode(text)?;
        fs::write(path, bytes).with_context(|| format!("cannot write {}", path.display()))
    }

    /// What the console has said since it was last asked.
    pub(crate) fn console(&self) -> Result<Vec<String>> {
        let entries = self.post("se/log", &json!({"type": "browser"}))?;
        let entries = entries.as_array().cloned().unwrap_or_default();
        Ok(entries
            .iter()
            .map(|entry| format!("{}: {}", entry["level"], entry["message"]))
            .collect())
    }

    fn act(&self, source: Value) -> Result<()> {
        self.post("actions", &json!({"actions": [source]})).map(drop)
    }

    fn command(&self, name: &str, parameters: Value) -> Result<Value> {
        self.post("goog/cdp/execute", &json!({"cmd": name, "params": parameters}))
    }

    fn post(&self, what: &str, body: &Value) -> Result<Value> {
        self.send(&format!("{}/{what}", self.address), body)
    }

    fn send(&self, address: &str, body: &Value) -> Result<Value> {
        let request = self.agent.post(address).content_type("application/json");
        let mut response = request.send(body.to_string()).context("the browser does not answer")?;
        let text = response.body_mut().with_config().limit(1 << 28).read_to_string()?;
        let answer: Value = serde_json::from_str(&text).context("the driver speaks no JSON")?;
        if !response.status().is_success() {
            bail!("the browser refuses: {}", answer["value"]["message"]);
        }
        Ok(answer["value"].clone())
    }
}

impl Drop for Browser {
    /// Asks the browser to end, and ends the driver whether or not it did.
    fn drop(&mut self) {
        if !self.address.is_empty() {
            let _ = self.agent.delete(&self.address).call();
        }
        let _ = self.driver.kill();
        let _ = self.driver.wait();
    }
}

/// The port that the driver has chosen, which it says in one of its first lines.
fn port(output: impl std::io::Read + Send + 'static) -> Result<u16> {
    let (sender, receiver) = std::sync::mpsc::channel();
    // Reads on to the end, so that the driver never waits for a reader.
    thread::spawn(move || {
        for line in BufReader::new(output).lines().map_while(Result::ok) {
            let _ = sender.send(line);
        }
    });
    let start = Instant::now();
    while let Ok(line) = receiver.recv_timeout(PATIENCE.saturating_sub(start.elapsed())) {
        let said = line.split_once("successfully on port ").map(|(_, port)| port);
        if let Some(port) = said.and_then(|port| port.trim_end_matches('.').parse().ok()) {
            return Ok(port);
        }
    }
    bail!("the driver of the browser did not start")
}
