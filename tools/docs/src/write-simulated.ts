import { writeRows } from './json-lines.ts';
import { installLine, installSimgrid } from './simulation/install.ts';
import { simgridVersion } from './simulation/simgrid.ts';
import { simulatedRanks, simulatedRows } from './simulation/simulated-rows.ts';

try {
  if (process.argv.includes('--install')) installSimgrid();
  if (simgridVersion() === undefined) throw new Error(`SimGrid is not here; run: ${installLine} (or add --install)`);
  writeRows('simulated', [...simulatedRows(simulatedRanks)]);
} catch (error) {
  process.stderr.write(`${(error as Error).message}\n`);
  process.exitCode = 2;
}
