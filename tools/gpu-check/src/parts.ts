import { existsSync } from 'node:fs';
import path from 'node:path';
import { NotHere } from './step.js';

/** A file that is carried along beside the checks. @throws NotHere in a checkout that is not packed up */
export function partOf(name: string): string {
  const file = path.join(path.dirname(process.argv[1] as string), name);
  if (existsSync(file)) return file;
  throw new NotHere(`${name} is not here: it is made by "npm run -w @coll/gpu-check pack-up"`);
}
