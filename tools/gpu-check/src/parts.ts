import { existsSync } from 'node:fs';
import path from 'node:path';
import { NotHere } from './step.js';

/** The path of a file that is packed beside the checks. @throws NotHere in a checkout without that file */
export function partOf(name: string): string {
  const file = path.join(path.dirname(process.argv[1] as string), name);
  if (existsSync(file)) return file;
  throw new NotHere(`${name} is not here: it is made by "npm run -w @coll/gpu-check pack-up"`);
}
