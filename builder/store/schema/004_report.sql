-- The tables of the last `builder report --data`, cell by cell: SELECT line, "column", value FROM report_cells WHERE "table" = 'table-5'.
CREATE TABLE report_cells (
  "table" TEXT NOT NULL, line INTEGER NOT NULL, "column" TEXT NOT NULL, value ANY,
  PRIMARY KEY ("table", line, "column")
) STRICT, WITHOUT ROWID;
