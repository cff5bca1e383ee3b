import { randomUUID } from 'node:crypto';
import path from 'node:path';
import { RuntimeError } from '@coll/core';
import { recordFolder, removeRecordsOf } from '@coll/native/record';
import { TcpStoreServer } from '@coll/rendezvous';
import { readJobKey } from '@coll/rendezvous/internal';
import { membershipFrom } from '@coll/strategy';
import type { RunRequest } from './arguments.js';
import { Guard } from './guard.js';
import { Interruptions } from './interruptions.js';
import { commandFor } from './program-command.js';
import { RankGroup } from './rank-group.js';
import { tell, tellFailure } from './report.js';
import { StallFile } from './stall-file.js';
import { StallWatch } from './stall-watch.js';

/** The outcome of a run. */
export interface RunEnd {
  /** The exit code of the launcher. */
  readonly exitCode: number;
  /** Whether some output of the ranks was never read. */
  readonly isUnread: boolean;
}

/**
 * Runs a program on all ranks. If a rank fails, runs the program again on all ranks, as often as
 * restarts are allowed.
 * @throws RuntimeError inside a rank, unless the run is nested; CollError for a program or log
 * folder that cannot be used
 */
export async function run(request: RunRequest): Promise<RunEnd> {
  if (!request.isNested) requireNoLauncher(process.env);
  const command = commandFor(request);
  const name = `run-${randomUUID()}`;
  const keyFile = request.keyFile === undefined ? undefined : path.resolve(request.keyFile);
  const key = keyFile ? readJobKey(keyFile) : TcpStoreServer.newKey();
  await using server = await TcpStoreServer.listen({ job: name, jobKey: key });
  using stalls = new StallFile();
  const { ranks: size, stallSeconds } = request;
  const job = { name, key, keyFile, store: server.address, size, stallSeconds, stallFile: stalls.path };
  using guard = new Guard(request.graceSeconds, stalls.folder, () =>
    tell('the watchdog process has ended: if this launcher is killed, its ranks keep running'),
  );
  using interruptions = new Interruptions(request.timeoutSeconds);
  for (let restart = 0; ; restart++) {
    const group = new RankGroup({ request, command, job, restart, guard });
    using _watch = new StallWatch(stalls, () => group.finished);
    interruptions.watch(group);
    const failure = await group.ended;
    const { isUnread } = group;
    if (!failure) {
      if (!interruptions.first) removeRecords(name);
      return { exitCode: interruptions.first?.exitCode ?? 0, isUnread };
    }
    const mayRestart = restart < request.maxRestarts;
    const goesOn = mayRestart && !interruptions.first;
    tellFailure(failure, request, goesOn ? restart + 1 : undefined);
    // The interruption's exit code is used only if the ranks would have restarted without it.
    if (!goesOn) return { exitCode: (mayRestart && interruptions.first?.exitCode) || failure.exitCode, isUnread };
  }
}

/** Removes what the ranks of a job that has ended well have recorded on this host. */
function removeRecords(job: string): void {
  const folder = recordFolder({ mayCreate: false });
  if ('path' in folder) removeRecordsOf(folder.path, job);
}

function requireNoLauncher(environment: NodeJS.ProcessEnv): void {
  const found = membershipFrom(environment);
  if (!found) return;
  const message = `this process is already rank ${found.rank} of a group that ${found.launcher} started, and each rank of that group would start ranks of its own`;
  const advice = 'let that launcher start the program directly, or pass --nested';
  throw new RuntimeError('ERR_COLL_CLUSTER', `${message}: ${advice}`, { rank: found.rank, operation: 'run' });
}
