export const platforms: Readonly<Record<string, { readonly os: string; readonly cpu: string }>>;
export function thisPlatform(): string | undefined;
