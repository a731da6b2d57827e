/** Starts the dashboard. */
import { CSPProvider } from '@base-ui/react/csp-provider';
import { QueryClientProvider } from '@tanstack/react-query';
import { StrictMode } from 'react';
import { createRoot } from 'react-dom/client';
import { onSentForReview, onWarning } from './api/client.ts';
import { makeQueryClient } from './api/use.ts';
import { App } from './app.tsx';
import { keepAuthorizationRequest } from './session/authorization-request.ts';
import { beginAgainWithHashToken, takeHashToken } from './session/hash-token.ts';
import { startTheme } from './ui/theme.tsx';
import './styles.css';
import { note } from './ui/toast.tsx';
import { ToastPlace } from './ui/toast-place.tsx';

takeHashToken();
keepAuthorizationRequest();
beginAgainWithHashToken();
startTheme();
onWarning(text => note(`Note: ${text}`));
onSentForReview(() => note('Sent for review. Someone else has to confirm it.'));

createRoot(document.getElementById('root')!).render(
  <StrictMode>
    <CSPProvider disableStyleElements>
      <QueryClientProvider client={makeQueryClient()}>
        <App />
        <ToastPlace />
      </QueryClientProvider>
    </CSPProvider>
  </StrictMode>,
);
