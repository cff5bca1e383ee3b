import path from 'node:path';
import { readReference } from './reference.ts';

// `--check` only tells what is wrong.
const { faults, write } = await readReference();
for (const fault of faults) console.error(fault);
if (faults.length > 0) process.exitCode = 1;
if (!process.argv.includes('--check')) {
  const folder = path.resolve(import.meta.dirname, '../../../../docs/reference');
  await write(folder);
  console.log(path.join(folder, 'index.html'));
}
