"use strict";
(() => {
  const tip = document.getElementById("tip");
  let shown = null;

  const near = [];

  const hide = () => {
    if (shown) shown.classList.remove("on");
    near.splice(0).forEach((point) => point.classList.remove("near"));
    shown = null;
    tip.hidden = true;
  };

  // Above the point, or below it where there is no room, and always within the window.
  const place = () => {
    const box = shown.getBoundingClientRect();
    const own = tip.getBoundingClientRect();
    const { clientWidth: width, clientHeight: height } = document.documentElement;
    const left = box.left + box.width / 2 - own.width / 2;
    const above = box.top - own.height - 8;
    tip.style.left = Math.max(6, Math.min(left, width - own.width - 6)) + "px";
    tip.style.top = (above < 4 ? box.bottom + 8 : above) + "px";
    return box.bottom > 0 && box.top < height;
  };

  const show = (point) => {
    if (!point || point === shown) return;
    hide();
    shown = point;
    point.classList.add("on");
    if (point.dataset.near) {
      const points = point.ownerSVGElement.querySelectorAll(".point");
      near.push(...point.dataset.near.split(" ").map((index) => points[index]));
      near.forEach((point) => point.classList.add("near"));
    }
    tip.textContent = point.dataset.tip;
    tip.hidden = false;
    place();
  };

  const nearest = (chart, points, event) => {
    const under = event.target.closest("rect.point");
    if (under) return under;
    const place = new DOMPoint(event.clientX, event.clientY)
      .matrixTransform(chart.getScreenCTM().inverse());
    // On curves along the horizontal axis first: that is how they are read.
    const across = chart.classList.contains("map") ? 1 : 2;
    const distance = (point) =>
      Math.hypot(across * (point.dataset.x - place.x), point.dataset.y - place.y);
    return points.reduce((best, point) => (distance(point) < distance(best) ? point : best));
  };

  for (const chart of document.querySelectorAll("figure svg")) {
    const points = [...chart.querySelectorAll(".point")];
    if (!points.length) continue;
    const follow = (event) => show(nearest(chart, points, event));
    chart.addEventListener("pointerdown", follow);
    chart.addEventListener("pointermove", follow);
    chart.addEventListener("pointerleave", (event) => {
      if (event.pointerType === "mouse") hide();
    });
    chart.addEventListener("blur", hide);
    chart.addEventListener("keydown", (event) => {
      const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
      if (!step) return;
      event.preventDefault();
      const at = points.indexOf(shown);
      show(points[at < 0 ? 0 : (at + step + points.length) % points.length]);
    });
  }

  for (const mark of document.querySelectorAll(".mark[data-tip]")) {
    for (const kind of ["pointerenter", "pointerdown", "focus"]) {
      mark.addEventListener(kind, () => show(mark));
    }
    mark.addEventListener("pointerleave", hide);
    mark.addEventListener("blur", hide);
  }

  addEventListener("scroll", () => {
    if (shown && !place()) hide();
  }, { passive: true });
  addEventListener("keydown", (event) => {
    if (event.key === "Escape") hide();
  });
  addEventListener("pointerdown", (event) => {
    if (!event.target.closest("figure svg, .mark")) hide();
  });
})();
