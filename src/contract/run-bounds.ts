/** Bounds of runs. It imports nothing, so that commands load quickly, and without any package. */

export const longestPurpose = 500;
/** In seconds: twelve hours, and thirty days. */
export const usualRun = 12 * 3_600;
export const longestRun = 30 * 24 * 3_600;
