/** The form of a webhook's messages: null for Standard Webhooks, which earlier releases send. */
import type { Step } from './step.ts';

export const webhookFormats: Step = async db => {
  await db.schema.alterTable('webhooks').addColumn('format', 'text').execute();
};
