import type { TestProject } from 'vitest/node';
import { buildFirst } from './build-first.ts';

/** Builds what the tests of this project use: all packages. */
export const setup = (project: TestProject): void => buildFirst(project, 'npm', ['run', '--silent', 'build']);
