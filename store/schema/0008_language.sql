-- What a text is found by, for chunks and questions alike: its words in the collection's language, without accents.
--
-- A stemmer and its stop words need the letters of their own language: `für` is no word to search for, and `préparée` is
-- a form of `préparer`. So those are folded after it. A letter that the language does not have only hides a word from its
-- stemmer, `café` from the German one; so it is folded before. Texts are never changed, only what they are found by.

-- A regular expression for one letter with a mark (é, ß, ﬁ, Ω as a unit, marks alone) that is not among those kept. It names
-- the letters that it does not match, so that a language can add its own.
CREATE FUNCTION marked_letter(kept text) RETURNS text LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS $$
    SELECT '[^' || kept
        || '\u0001-\u00b4\u00b6-\u00bf\u00d7\u00f7\u0138\u013f-\u0140\u014a-\u014b\u0180-\u019f\u01a2-\u01ae\u01b1-\u01cc'
        || '\u01dd-\u0217\u021c-\u02ff'                                      -- Latin
        || '\u0370-\u0385\u0387\u038b\u038d\u0391-\u03a9\u03b1-\u03c9\u03cf-\u0400\u0402-\u0450\u0452-\u1dff' -- Greek, Ё
        || '\u1e9a-\u1e9d\u1e9f\u1efa-\u1eff'                                -- Latin, Vietnamese
        || '\u1f16-\u1f17\u1f1e-\u1f1f\u1f46-\u1f47\u1f4e-\u1f4f\u1f58\u1f5a\u1f5c\u1f5e\u1f7e-\u1f7f\u1fb5\u1fbd-\u1fc1'
        || '\u1fc5\u1fcd-\u1fcf\u1fd4-\u1fd5\u1fdc-\u1fdf\u1fed-\u1ff1\u1ff5\u1ffd-\ufaff' -- ancient Greek
        || '\ufb07-\U0010ffff]'                                              -- ligatures
$$;

-- The marked letters that a language's stemmer and stop words know.
CREATE FUNCTION own_letters(language regconfig) RETURNS text LANGUAGE sql STABLE STRICT PARALLEL SAFE AS $$
    SELECT CASE split_part('.' || language::text, '.', -1)
        WHEN 'basque' THEN 'ñÑ'
        WHEN 'catalan' THEN 'àçéèíïóòúüÀÇÉÈÍÏÓÒÚÜ'
        WHEN 'danish' THEN 'æøåÆØÅ'
        WHEN 'estonian' THEN 'äöõüšžÄÖÕÜŠŽ'
        WHEN 'finnish' THEN 'äöåÄÖÅ'
        WHEN 'french' THEN 'àâæçéèêëîïôœùûüÿÀÂÆÇÉÈÊËÎÏÔŒÙÛÜŸ'
        WHEN 'german' THEN 'äöüßÄÖÜ'
        WHEN 'greek' THEN 'Ά-ώ'
        WHEN 'hungarian' THEN 'áéíóöőúüűÁÉÍÓÖŐÚÜŰ'
        WHEN 'irish' THEN 'áéíóúÁÉÍÓÚ'
        WHEN 'italian' THEN 'àèéìíòóùúÀÈÉÌÍÒÓÙÚ'
        WHEN 'lithuanian' THEN 'ąčęėįšųūžĄČĘĖĮŠŲŪŽ'
        WHEN 'norwegian' THEN 'æøåÆØÅ'
        WHEN 'portuguese' THEN 'áâãàçéêíóôõúüÁÂÃÀÇÉÊÍÓÔÕÚÜ'
        WHEN 'romanian' THEN 'ăâîșțşţĂÂÎȘȚŞŢ'
        WHEN 'serbian' THEN 'čćžšđČĆŽŠĐ'
        WHEN 'spanish' THEN 'áéíóúüñÁÉÍÓÚÜÑ'
        WHEN 'swedish' THEN 'äåöÄÅÖ'
        WHEN 'turkish' THEN 'çğıöşüâîûÇĞİÖŞÜÂÎÛ'
        ELSE ''
    END
$$;

-- Each letter that the expression finds becomes the letter without its mark: so few differ in one text that this takes a
-- fraction of normalizing it.
CREATE FUNCTION fold_letters(content text, letters text) RETURNS text LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE AS $$
DECLARE
    marked text;
    plain text;
BEGIN
    LOOP
        marked := substring(content FROM letters);
        EXIT WHEN marked IS NULL;
        plain := regexp_replace(normalize(marked, NFKD), '[\u0300-\u036f]', '', 'g');
        plain := translate(plain, 'ØøĐđÐðĦħıŁłŦŧ', 'OoDdDdHhiLlTt');
        plain := CASE plain
            WHEN 'ß' THEN 'ss' WHEN 'ẞ' THEN 'SS' WHEN 'æ' THEN 'ae' WHEN 'Æ' THEN 'AE'
            WHEN 'œ' THEN 'oe' WHEN 'Œ' THEN 'OE' WHEN 'þ' THEN 'th' WHEN 'Þ' THEN 'TH' ELSE plain
        END;
        content := replace(content, marked, plain);
    END LOOP;
    RETURN content;
END $$;

-- Words and where they stand, as to_tsvector has them. Equal ones become one, with the places of both.
CREATE FUNCTION search_words(language regconfig, content text) RETURNS tsvector LANGUAGE plpgsql STABLE STRICT PARALLEL SAFE
AS $$
DECLARE
    kept text;
    words tsvector;
    shown text;
    plain text;
BEGIN
    IF octet_length(content) = char_length(content) THEN
        RETURN to_tsvector(language, content);
    END IF;
    kept := own_letters(language);
    IF content ~ ('[\u0300-\u036f\u0653-\u0655\u1161-\u11c2\u2126\u212a\u212b\u3099\u309a]|' || marked_letter(kept)) THEN
        -- Letters may come in pieces (é, ё, Hangul, kana, Arabic), as some file systems and programs write them.
        IF content IS NOT NFC NORMALIZED THEN
            content := normalize(content, NFC);
        END IF;
        content := fold_letters(content, marked_letter(kept));
    END IF;
    words := to_tsvector(language, content);
    IF kept = '' THEN
        RETURN words;
    END IF;
    shown := words::text;
    plain := fold_letters(shown, marked_letter(''));
    RETURN CASE WHEN plain = shown THEN words ELSE plain::tsvector END;
END $$;

-- Chunks that are there are found by the same words from now on. A chunk is replaced, as ever, so that its postings follow.
-- Words that a hyphen parts in the text stand joined in the old vector alone, so what only that one has is kept.
CREATE TEMPORARY TABLE accented ON COMMIT DROP AS
SELECT k.chunk_no,
       setweight(search_words(c.language, k.text), 'A')
           || fold_letters(ts_delete(k.search, tsvector_to_array(
                  to_tsvector(c.language, k.text) || to_tsvector(c.language, context.text)))::text, marked_letter('')
              )::tsvector
           || setweight(search_words(c.language, context.text), 'B') AS search
FROM chunks k
JOIN collections c USING (collection_id)
JOIN documents d USING (document_id)
CROSS JOIN LATERAL (SELECT concat_ws(' ', d.title, array_to_string(k.heading_path, ' ')) AS text) AS context
WHERE octet_length(k.search::text) <> char_length(k.search::text);

CREATE TEMPORARY TABLE replaced ON COMMIT DROP AS SELECT k.* FROM chunks k JOIN accented USING (chunk_no);
UPDATE replaced SET search = accented.search FROM accented WHERE accented.chunk_no = replaced.chunk_no;
DELETE FROM chunks k USING accented WHERE k.chunk_no = accented.chunk_no;
INSERT INTO chunks OVERRIDING SYSTEM VALUE SELECT * FROM replaced;
DROP TABLE accented, replaced;
