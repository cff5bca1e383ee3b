import { defineConfig } from 'vite';

export default defineConfig({
  // The built page may be in any folder of a host.
  base: './',
  // TensorFlow.js passes the text of a function to its threads. Vite's own minifier makes it refer to variables outside.
  build: { target: 'es2022', minify: 'esbuild' },
  worker: {
    format: 'es',
    // Vite would drop the exports of the replicas' module, which the strategy calls by name.
    plugins: () => [
      { name: 'keep-exports', options: (options) => ({ ...options, preserveEntrySignatures: 'exports-only' }) },
    ],
  },
  server: {
    headers: {
      'Cross-Origin-Opener-Policy': 'same-origin',
      'Cross-Origin-Embedder-Policy': 'require-corp',
    },
  },
  // As on a static host, the service worker sets the headers.
  preview: { headers: {} },
});
