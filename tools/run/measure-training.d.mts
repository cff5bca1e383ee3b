export function measureTraining(): Promise<void>;
export function withTable(text: string, table: string): string;
