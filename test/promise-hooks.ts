/**
 * The test runner follows every asynchronous resource, to know to which test an error belongs that nobody caught. To
 * follow promises too costs files with many requests 6 to 26 % of their processor time, so it does without: what
 * throws in a timer or a socket still fails its test, and a promise that is rejected with nobody there fails its file.
 * Loaded before anything else has loaded the runner (`endingByThemselves`), which takes `createHook` as it finds it.
 */
import asyncHooks from 'node:async_hooks';

const { createHook } = asyncHooks;
if (process.env.NODE_TEST_CONTEXT === 'child-v8') {
  asyncHooks.createHook = callbacks => createHook({ ...callbacks, trackPromises: false });
  await import('node:test');
  asyncHooks.createHook = createHook;
}
