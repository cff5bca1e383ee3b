import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { repository, userPages } from '../markdown-files.ts';
import { embedFiles } from './embedded-files.ts';

for (const name of userPages()) {
  const file = path.join(repository, name);
  const page = readFileSync(file, 'utf8');
  const current = embedFiles(page);
  if (current === page) continue;
  writeFileSync(file, current);
  console.log(`updated ${name}`);
}
