-- How a request ended: `outcome` is a name in snake_case, `detail` the error or the vendor's own words.
ALTER TABLE requests ADD COLUMN detail TEXT;
UPDATE requests SET detail = substr(outcome, 25, length(outcome) - 28)
    WHERE outcome LIKE 'Refusal { detail: Some("%';
UPDATE requests SET outcome = 'refusal' WHERE outcome LIKE 'Refusal { detail: %';
UPDATE requests SET detail = substr(outcome, 16, length(outcome) - 18), outcome = 'other'
    WHERE outcome LIKE 'Other { word: %';
UPDATE requests SET outcome = CASE outcome
        WHEN 'End' THEN 'end'
        WHEN 'done' THEN 'end'
        WHEN 'ToolUse' THEN 'tool_use'
        WHEN 'MaxTokens' THEN 'max_tokens'
        WHEN 'refused' THEN 'rejected'
        WHEN 'stopped' THEN 'interrupted'
        ELSE outcome END
    WHERE detail IS NULL;
UPDATE requests SET detail = outcome, outcome = 'failed'
    WHERE outcome NOT IN ('end', 'tool_use', 'max_tokens', 'refusal', 'other', 'applied', 'rejected', 'interrupted');
