import path from 'node:path';
import { defineConfig, mergeConfig } from 'vitest/config';
import { BaseSequencer, type TestSpecification } from 'vitest/node';
import whole from '../../vitest.config.ts';

const root = path.resolve(import.meta.dirname, '../..');

/** Runs test files in the order of the command line: the most likely to fail first. */
class AsGiven extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const place = ({ moduleId }: TestSpecification) => process.argv.indexOf(path.relative(root, moduleId));
    return [...files].sort((a, b) => place(a) - place(b));
  }
}

export default mergeConfig(
  whole,
  defineConfig({ test: { bail: 1, maxWorkers: 1, reporters: ['default'], sequence: { sequencer: AsGiven } } }),
);
