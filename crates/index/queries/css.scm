(rule_set (selectors) @name) @rule
(media_statement "@media" @name) @rule
(keyframes_statement (keyframes_name) @name) @rule
(at_rule (at_keyword) @name) @rule
(supports_statement "@supports" @name) @rule
(declaration (property_name) @name (#match? @name "^--")) @variable
