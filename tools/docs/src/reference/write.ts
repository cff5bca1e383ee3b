import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { readReference } from './reference.ts';

const folder = path.resolve(import.meta.dirname, '../../../../docs/reference');
const optionsFile = path.join(folder, 'options.md');
const { faults, options, write } = await readReference();

// --check prints the faults and writes nothing.
if (process.argv.includes('--check')) {
  const isCurrent = readFileSync(optionsFile, 'utf8') === options;
  if (!isCurrent) faults.push('docs/reference/options.md is not current: run npm run reference -w @coll/docs');
} else {
  writeFileSync(optionsFile, options);
  await write(path.join(folder, 'api'));
}
for (const fault of faults) console.error(fault);
if (faults.length > 0) process.exitCode = 1;
