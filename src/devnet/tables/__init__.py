"""Raw tables: files, columns, categories and missing values. Arrow in, matrix out."""
