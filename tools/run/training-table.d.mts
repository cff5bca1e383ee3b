export function trainingTable(rows: readonly object[]): string;
