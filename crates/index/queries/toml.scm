(table [(bare_key) (dotted_key) (quoted_key)] @name) @key
(table_array_element [(bare_key) (dotted_key) (quoted_key)] @name) @key
(document (pair [(bare_key) (dotted_key) (quoted_key)] @name) @key)
