-- Recall looks at who says a message: the user, the assistant, or another. What is no message has no role.

ALTER TABLE documents ADD COLUMN role VARCHAR USING COMPRESSION dict_fsst;
UPDATE documents SET role = m.role FROM messages AS m WHERE m.doc_no = documents.doc_no;
