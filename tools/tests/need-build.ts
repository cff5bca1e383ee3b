import { inject } from 'vitest';

const failure = inject('buildFailure');
if (failure !== undefined) throw new Error(failure);
