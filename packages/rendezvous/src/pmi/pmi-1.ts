import { notOfProtocol, type PmiConnection, requireSuccess, type TakeAnswer } from './pmi-connection.js';

/** Rank 0's key in the space of the job. */
const key = 'coll-meeting';

/** PMI-1: lines `cmd=… name=value …`, as Hydra (MPICH, Intel MPI, MVAPICH2) and Flux speak it. */
export async function exchangeByPmi1(connection: PmiConnection, text: string | undefined): Promise<string> {
  await ask(connection, 'cmd=init pmi_version=1 pmi_subversion=1', 'response_to_init');
  const space = (await ask(connection, 'cmd=get_my_kvsname', 'my_kvsname')).get('kvsname');
  if (space === undefined) throw notOfProtocol('no kvsname');
  if (text !== undefined) await ask(connection, `cmd=put kvsname=${space} key=${key} value=${text}`, 'put_result');
  // Values can be read once all ranks are here.
  await ask(connection, 'cmd=barrier_in', 'barrier_out');
  return (await ask(connection, `cmd=get kvsname=${space} key=${key}`, 'get_result')).get('value') ?? '';
}

/** Ends the use of PMI, so that the launcher lets the other ranks live on after this one has exited. */
export const finalizePmi1 = 'cmd=finalize\n';

/** A line, without its end. */
export const takeLine: TakeAnswer = (received) => {
  const end = received.indexOf('\n');
  return end < 0 ? undefined : { answer: received.slice(0, end), rest: received.slice(end + 1) };
};

/** The fields of a line; a value has no blanks. */
export function fieldsOfLine(line: string): ReadonlyMap<string, string> {
  return new Map(
    line
      .split(' ')
      .filter((field) => field.includes('='))
      .map((field): [string, string] => [field.slice(0, field.indexOf('=')), field.slice(field.indexOf('=') + 1)]),
  );
}

async function ask(connection: PmiConnection, request: string, answer: string): Promise<ReadonlyMap<string, string>> {
  const line = await connection.ask(`${request}\n`, takeLine);
  const fields = fieldsOfLine(line);
  if (fields.get('cmd') !== answer) throw notOfProtocol(line);
  requireSuccess(fields, line);
  return fields;
}
