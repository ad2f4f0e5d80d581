//! Parquet and Arrow files, in batches of rows.

use super::{Reading, TableForm, TableRow, VisitRow};
use crate::DataError;
use arrow_array::RecordBatch;
use arrow_cast::display::{ArrayFormatter, FormatOptions};
use arrow_ipc::reader::FileReader;
use arrow_schema::{ArrowError, DataType, Schema, SchemaRef};
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use std::fmt;
use std::fs::File;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

/// Rows of a batch of Parquet.
const BATCH: usize = 4096;

type FileBatches = Box<dyn Iterator<Item = Result<RecordBatch, ArrowError>>>;

/// Batches of rows, one after another.
pub type Batches = Box<dyn Iterator<Item = Result<RecordBatch, ArrowError>> + Send>;

/// Batches that a program has handed over, until they are read.
#[derive(Clone)]
pub(super) struct HandedBatches(Arc<Mutex<Option<Batches>>>);

impl HandedBatches {
    pub(super) fn new(batches: Batches) -> Self {
        Self(Arc::new(Mutex::new(Some(batches))))
    }
}

impl fmt::Debug for HandedBatches {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("HandedBatches")
    }
}

/// The names of the columns.
pub(super) fn header(open: File, file: &Path, form: TableForm) -> Result<Vec<String>, DataError> {
    let names = |schema: &Schema| schema.fields().iter().map(|it| it.name().clone()).collect();
    let all = |header: &[String]| Ok((0..header.len()).collect());
    whole(file, form, || opened(open, file, form, all))?.map(|(schema, _)| names(&schema))
}

/// The columns at the places that `choose` finds in the header, and all that is in them.
fn opened(
    open: File,
    file: &Path,
    form: TableForm,
    choose: impl FnOnce(&[String]) -> Result<Vec<usize>, DataError>,
) -> Result<(SchemaRef, FileBatches), DataError> {
    let failed = |error: &dyn fmt::Display| unreadable(file, form, error);
    let names = |schema: &SchemaRef| -> Vec<String> {
        schema.fields().iter().map(|field| field.name().clone()).collect()
    };
    if form == TableForm::Parquet {
        let builder = ParquetRecordBatchReaderBuilder::try_new(open).map_err(|it| failed(&it))?;
        let schema = builder.schema().clone();
        let places = choose(&names(&schema))?;
        let mask = ProjectionMask::roots(builder.parquet_schema(), places);
        let builder = builder.with_projection(mask).with_batch_size(BATCH);
        let batches = builder.build().map_err(|error| failed(&error))?;
        return Ok((schema, Box::new(batches)));
    }
    let whole = FileReader::try_new(&open, None).map_err(|error| failed(&error))?.schema();
    let places = choose(&names(&whole))?;
    let batches = FileReader::try_new(open, Some(places)).map_err(|error| failed(&error))?;
    Ok((whole, Box::new(batches)))
}

impl Reading<'_> {
    /// Shows every row, counted from 1.
    pub(super) fn each_batch(
        mut self,
        form: TableForm,
        open: File,
        visit: &mut VisitRow<'_>,
    ) -> Result<(), DataError> {
        let file = self.place.file.clone();
        let choose = |header: &[String]| self.places(header);
        let (_, mut batches) = whole(&file, form, || opened(open, &file, form, choose))??;
        while let Some(batch) = whole(&file, form, || batches.next())? {
            self.each_of(batch, |error| unreadable(&file, form, error), visit)?;
        }
        Ok(())
    }

    /// The same for batches that a program hands over.
    pub(super) fn each_handed(
        mut self,
        handed: &HandedBatches,
        visit: &mut VisitRow<'_>,
    ) -> Result<(), DataError> {
        let file = self.place.file.clone();
        let failed = |error: &dyn fmt::Display| DataError::table(&file, error.to_string());
        let batches = handed.0.lock().unwrap_or_else(PoisonError::into_inner).take();
        for batch in batches.ok_or_else(|| failed(&"it was read before"))? {
            if let Ok(batch) = &batch {
                let names = batch.schema_ref().fields().iter().map(|it| it.name().clone());
                self.places(&names.collect::<Vec<String>>())?;
            }
            self.each_of(batch, failed, visit)?;
        }
        Ok(())
    }

    fn each_of(
        &mut self,
        batch: Result<RecordBatch, ArrowError>,
        failed: impl Fn(&dyn fmt::Display) -> DataError,
        visit: &mut VisitRow<'_>,
    ) -> Result<(), DataError> {
        let failed = |error: ArrowError| failed(&error);
        let batch = batch.map_err(failed)?;
        let columns = self.columns.iter().map(|name| {
            let column = batch.column_by_name(name).ok_or_else(|| {
                ArrowError::SchemaError(format!("the column `{name}` is not in every part"))
            })?;
            match column.data_type() {
                DataType::Binary | DataType::LargeBinary => {
                    arrow_cast::cast(column, &DataType::Utf8)
                }
                _ => Ok(Arc::clone(column)),
            }
        });
        let columns = columns.collect::<Result<Vec<_>, _>>().map_err(failed)?;
        let options = FormatOptions::default();
        let formatters = columns
            .iter()
            .map(|column| ArrayFormatter::try_new(column.as_ref(), &options))
            .collect::<Result<Vec<_>, _>>()
            .map_err(failed)?;
        for row in 0..batch.num_rows() {
            self.place.line += 1;
            let text = |(column, format): (&Arc<dyn arrow_array::Array>, &ArrayFormatter<'_>)| {
                (!column.is_null(row)).then(|| format.value(row).to_string())
            };
            let texts: Vec<Option<String>> = columns.iter().zip(&formatters).map(text).collect();
            let fields = Ok(texts.iter().map(Option::as_deref).collect());
            visit(TableRow { name: self.name, place: &self.place, fields })?;
        }
        Ok(())
    }
}

/// What comes of reading, which may panic where a file is damaged.
fn whole<T>(file: &Path, form: TableForm, read: impl FnOnce() -> T) -> Result<T, DataError> {
    catch_unwind(AssertUnwindSafe(read))
        .map_err(|_| unreadable(file, form, &"what it says about itself is not true"))
}

fn unreadable(file: &Path, form: TableForm, error: &dyn fmt::Display) -> DataError {
    let form = if form == TableForm::Parquet { "Parquet" } else { "Arrow" };
    DataError::table(file, format!("not a readable {form} file: {error}"))
}
