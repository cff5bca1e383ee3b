// Checks the workflows of .github/workflows by GitHub's own parser: their keys and values.
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { NoOperationTraceWriter, parseWorkflow } from '@actions/workflow-parser';

const folder = path.resolve(import.meta.dirname, '../../.github/workflows');
for (const name of readdirSync(folder)) {
  const content = readFileSync(path.join(folder, name), 'utf8');
  const { context } = parseWorkflow({ name, content }, new NoOperationTraceWriter());
  for (const { message } of context.errors.getErrors()) {
    console.error(`.github/workflows: ${message}`);
    process.exitCode = 1;
  }
}
