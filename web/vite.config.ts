/** Builds the dashboard into web/dist, with nothing inline, so that it works under a strict Content-Security-Policy. */
import { join } from 'node:path';
import tailwindcss from '@tailwindcss/vite';
import react from '@vitejs/plugin-react';
import { defineConfig } from 'vite';

const service = 'http://127.0.0.1:8420';
const served = ['/v1', '/auth', '/api', '/mcp', '/docs'];

export default defineConfig({
  root: import.meta.dirname,
  plugins: [react(), tailwindcss()],
  build: {
    outDir: 'dist',
    emptyOutDir: true,
    target: 'es2024',
    // data: URLs would require a weaker policy.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    reportCompressedSize: false,
    rolldownOptions: {
      // The style sheet of the API documentation, whose page the service renders.
      input: {
        index: join(import.meta.dirname, 'index.html'),
        docs: join(import.meta.dirname, 'src/docs.css'),
      },
      output: {
        assetFileNames: ({ names }) =>
          names.includes('docs.css') ? 'docs.css' : 'assets/[name]-[hash][extname]',
      },
    },
  },
  server: { proxy: Object.fromEntries(served.map(path => [path, service])) },
});
