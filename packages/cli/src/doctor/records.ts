import { type RecordFolder, recordFolder } from '@coll/native/record';
import type { Check, Line } from './line.js';

/** Where the flight recorder keeps its records. */
export const recordsCheck: Check = {
  name: 'records',
  examine: ({ environment }) => [recordsLine(environment['COLL_RECORD'], recordFolder({ environment }))],
};

/** The line about records. `wanted`: the value of `COLL_RECORD`. */
export function recordsLine(wanted: string | undefined, folder: RecordFolder): Line {
  const name = 'records';
  if (wanted === 'off') return { name, text: 'off, because of COLL_RECORD=off: coll trace finds nothing' };
  if ('path' in folder) return { name, verdict: 'ok', text: `in ${folder.path}`, data: folder };
  return {
    name,
    verdict: 'slow',
    text: `kept in memory only, so coll trace finds nothing of a killed process: ${folder.refusal}`,
    cure: 'set COLL_RECORD_DIR to a folder of this user that others cannot write to',
    data: folder,
  };
}
