/**
 * The version with which all packages of this release are published. `npm run manifests` writes it.
 */
export const release = '0.1.0';
