/** Flight records of this host, for this repository's packages of the same version. */
export { type EndedProcess, recordEnd, removeRecordsOf } from './kept-records.js';
export { openRecord, type RecordOptions } from './open-record.js';
export { type RecordFolder, type RecordFolderOptions, recordFolder } from './record-folder.js';
export { type StoredRecord, storedRecords } from './stored-record.js';
