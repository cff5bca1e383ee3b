import { readFileSync, writeFileSync } from 'node:fs';
import { embedFiles } from './embedded-files.ts';

for (const name of ['from-tensorflow.md', 'concepts/multi-worker.md']) {
  const page = new URL(`../../../../docs/${name}`, import.meta.url);
  writeFileSync(page, embedFiles(readFileSync(page, 'utf8')));
}
