(element (start_tag (tag_name) @name) @_tag (#match? @name "^(html|head|body|header|main|footer|nav|section|article|aside|form|table|template|dialog|h[1-6])$")) @element
(element (start_tag (attribute (attribute_name) @_id (quoted_attribute_value (attribute_value) @name))) (#eq? @_id "id")) @element
(script_element (start_tag (tag_name) @name)) @element
(style_element (start_tag (tag_name) @name)) @element
