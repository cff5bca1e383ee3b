// A process of its own, which ends the ranks when their launcher was killed. Ranks could not notice that themselves: not while their main
// thread waits for peers, and not if they are commands other than Node.
import { rmSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { GroupEnder } from './process-group.js';

const graceSeconds = Number(process.argv[2]);
const folder = process.argv[3] as string;
/** How long each group has to end. */
const graces = new Map<number, number>();

// The launcher holds the other end: it says which groups came, were asked to end, and went. Its own end, however it comes, closes the pipe.
for await (const line of createInterface({ input: process.stdin })) {
  const pid = Number(line.slice(1));
  if (line.startsWith('+')) graces.set(pid, graceSeconds);
  else if (line.startsWith('!')) graces.set(pid, 0);
  else graces.delete(pid);
}

rmSync(folder, { recursive: true, force: true });
const ender = new GroupEnder();
await Promise.all([...graces].map(([pid, grace]) => ender.end(pid, grace)));
