import { fieldsOfLine, takeLine } from './pmi-1.js';
import { notOfProtocol, type PmiConnection, requireSuccess, type TakeAnswer } from './pmi-connection.js';

/** Rank 0's key in the space of the job. */
const key = 'coll-meeting';

/**
 * PMI-2, as `srun --mpi=pmi2` speaks it: after one line of PMI-1, frames of six digits, which are
 * their length, and fields `name=value;`.
 */
export async function exchangeByPmi2(
  connection: PmiConnection,
  text: string | undefined,
  { job, rank }: { readonly job: string; readonly rank: number },
): Promise<string> {
  const line = await connection.ask('cmd=init pmi_version=2 pmi_subversion=0\n', takeLine);
  if (fieldsOfLine(line).get('cmd') !== 'response_to_init') throw notOfProtocol(line);
  requireSuccess(fieldsOfLine(line), line);
  await ask(connection, 'fullinit', { pmijobid: job, pmirank: `${rank}`, threaded: 'FALSE' });
  if (text !== undefined) await ask(connection, 'kvs-put', { key, value: text });
  // Values can be read once all ranks are here.
  await ask(connection, 'kvs-fence', {});
  return (await ask(connection, 'kvs-get', { jobid: job, srcid: '0', key })).get('value') ?? '';
}

/** Ends the use of PMI, as in PMI-1. */
export const finalizePmi2 = frameOf('finalize', {});

/** A frame, without its length. */
export const takeFrame: TakeAnswer = (received) => {
  const head = received.slice(0, 6);
  // Slurm pads the number on the right.
  if (!/^ *\d* *$/.test(head) || head === '      ') throw notOfProtocol(received);
  if (head.length < 6) return undefined;
  const end = 6 + Number(head);
  return received.length < end ? undefined : { answer: received.slice(6, end), rest: received.slice(end) };
};

/** A request with its length; a semicolon in a value is doubled. */
export function frameOf(command: string, fields: Readonly<Record<string, string>>): string {
  const body = Object.entries({ cmd: command, ...fields })
    .map(([name, value]) => `${name}=${value.replaceAll(';', ';;')};`)
    .join('');
  return `${String(body.length).padStart(6)}${body}`;
}

/** The fields of a frame. */
export function fieldsOfFrame(frame: string): ReadonlyMap<string, string> {
  const fields = new Map<string, string>();
  for (const [field] of frame.matchAll(/(?:[^;]|;;)+/g)) {
    const end = field.indexOf('=');
    if (end > 0) fields.set(field.slice(0, end), field.slice(end + 1).replaceAll(';;', ';'));
  }
  return fields;
}

async function ask(
  connection: PmiConnection,
  command: string,
  request: Readonly<Record<string, string>>,
): Promise<ReadonlyMap<string, string>> {
  const frame = await connection.ask(frameOf(command, request), takeFrame);
  const fields = fieldsOfFrame(frame);
  if (fields.get('cmd') !== `${command}-response`) throw notOfProtocol(frame);
  requireSuccess(fields, frame);
  return fields;
}
