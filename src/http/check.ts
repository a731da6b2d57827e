export { check } from '../contract/check.ts';
