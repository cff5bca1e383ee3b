// A separate process that ends the ranks if their launcher was killed. Ranks cannot detect this
// themselves while their main thread waits for peers, or if they are not Node.js programs.
import { rmSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { GroupEnder } from './process-group.js';

const graceSeconds = Number(process.argv[2]);
const folder = process.argv[3] as string;
/** The grace period of each process group, in seconds. */
const graces = new Map<number, number>();

// The launcher writes one line for each group that starts (+), is being ended (!) or has ended (-).
// The loop ends when the launcher exits for any reason, because that closes the pipe.
for await (const line of createInterface({ input: process.stdin })) {
  const pid = Number(line.slice(1));
  if (line.startsWith('+')) graces.set(pid, graceSeconds);
  else if (line.startsWith('!')) graces.set(pid, 0);
  else graces.delete(pid);
}

rmSync(folder, { recursive: true, force: true });
const ender = new GroupEnder();
await Promise.all([...graces].map(([pid, grace]) => ender.end(pid, grace)));
