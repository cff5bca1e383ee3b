import { readFileSync, writeFileSync } from 'node:fs';
import { embedFiles } from './embedded-files.ts';

for (const name of ['reference/tensorflow-names.md', 'guides/several-processes.md']) {
  const page = new URL(`../../../../docs/${name}`, import.meta.url);
  writeFileSync(page, embedFiles(readFileSync(page, 'utf8')));
}
