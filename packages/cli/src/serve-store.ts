import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import path from 'node:path';
import { ValueError } from '@coll/core';
import { TcpStoreServer } from '@coll/rendezvous';
import { addressOf, howToSet, jobKeyFromEnvironment } from '@coll/rendezvous/internal';
import type { StoreRequest } from './arguments.js';

/**
 * Serves a store until this process gets SIGINT, SIGTERM or SIGHUP. Prints its address once members
 * can connect, or the variables that they need.
 * @throws ValueError without a key that members could have, or for an invalid host; CollError if
 * this process cannot listen at the address
 */
export async function serveStore(
  { storeHost, port, job: name, printsEnvironment }: StoreRequest,
  environment: Readonly<Record<string, string | undefined>> = process.env,
): Promise<void> {
  const ended = Promise.race(['SIGINT', 'SIGTERM', 'SIGHUP'].map((signal) => once(process, signal)));
  const given = jobKeyFromEnvironment(environment);
  if (!given && !printsEnvironment) {
    const advice = `${howToSet}; or pass --print-env, which prints a new key`;
    throw new ValueError('ERR_COLL_VALUE', `COLL_JOB_KEY is not set, so no member could connect: ${advice}`);
  }
  const job = name ?? (environment['COLL_JOB'] || `job-${randomUUID()}`);
  const jobKey = given || TcpStoreServer.newKey();
  await using server = await TcpStoreServer.listen({ job, jobKey, host: await addressOf(storeHost), port });
  const keyFile = environment['COLL_JOB_KEY_FILE'];
  const secret = keyFile ? { COLL_JOB_KEY_FILE: path.resolve(keyFile) } : { COLL_JOB_KEY: jobKey };
  const variables = { COLL_STORE: server.address, COLL_JOB: job, ...secret };
  const lines = Object.entries(variables).map(([variable, value]) => `export ${variable}=${quoted(value)}`);
  process.stdout.write(`${printsEnvironment ? lines.join('\n') : `${server.address} serves the job ${job}`}\n`);
  await ended;
}

/** A value as a word of a shell. */
function quoted(value: string): string {
  return /^[\w:/.[\]+=-]+$/.test(value) ? value : `'${value.replaceAll("'", "'\\''")}'`;
}
