-- Long values of checkpoints are compressed again. Any reader gets them as they were written. Values that are stored
-- already stay as they are.
ALTER TABLE checkpoint_blobs ALTER COLUMN blob SET STORAGE EXTENDED;
