import { readFileSync, writeFileSync } from 'node:fs';
import { embedFiles } from './embedded-files.ts';

const page = new URL('../../../../docs/from-tensorflow.md', import.meta.url);
writeFileSync(page, embedFiles(readFileSync(page, 'utf8')));
