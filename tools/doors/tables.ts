import { installersTable } from './installers.ts';
import { runtimesTable } from './runtimes.ts';
import type { Table } from './table.ts';

/** The tables of docs/reference/runtimes.md, in its order. */
export const tables: readonly Table[] = [runtimesTable, installersTable];
