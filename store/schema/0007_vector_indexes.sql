-- Which collections have an approximate index over their vectors, and how well it was found to do.
--
-- Such an index is one of `chunks`, over one collection, in half precision; store/search/vector_index.py makes and removes it.

CREATE TABLE vector_indexes (
    collection_id bigint PRIMARY KEY REFERENCES collections ON DELETE CASCADE,
    name          text NOT NULL,             -- of the index
    ef_search     integer NOT NULL,          -- how wide it is searched
    recall        double precision NOT NULL, -- share of the true nearest chunks that it then found
    chunks        bigint NOT NULL,           -- chunks of the collection at that time
    measured_at   timestamptz NOT NULL DEFAULT now()
);

ALTER TABLE collections ADD COLUMN documents bigint NOT NULL DEFAULT 0;  -- how many there are
UPDATE collections c SET documents = (SELECT count(*) FROM documents d WHERE d.collection_id = c.collection_id);
