export const root: string;
export const published: ReadonlyMap<string, string>;
export function manifestIn(folder: string): { readonly name: string; readonly version: string };
