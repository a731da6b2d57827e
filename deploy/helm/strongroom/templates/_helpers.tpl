{{- define "strongroom.selector" -}}
app.kubernetes.io/name: strongroom
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "strongroom.labels" -}}
{{ include "strongroom.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
{{- end -}}

{{- define "strongroom.image" -}}
{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}
{{- end -}}

{{- /* Without TLS, the service answers only its proxy and loopback, not a probe from the node; the probe then runs inside the pod. */ -}}
{{- define "strongroom.probe" -}}
{{- if .root.Values.tls.secretName -}}
httpGet:
  path: {{ .path }}
  port: vault
  scheme: HTTPS
{{- else -}}
exec:
  command: [node, /app/healthcheck.js, {{ .path }}]
{{- end }}
{{- end -}}

{{- define "strongroom.pod" -}}
metadata:
  labels:
    {{- include "strongroom.labels" . | nindent 4 }}
  {{- with .Values.podAnnotations }}
  annotations:
    {{- toYaml . | nindent 4 }}
  {{- end }}
spec:
  serviceAccountName: {{ .Release.Name }}
  automountServiceAccountToken: false
  enableServiceLinks: false
  terminationGracePeriodSeconds: 15
  {{- with .Values.imagePullSecrets }}
  imagePullSecrets:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  securityContext:
    runAsNonRoot: true
    runAsUser: 10001
    runAsGroup: 10001
    fsGroup: 10001
    fsGroupChangePolicy: OnRootMismatch
    seccompProfile:
      type: RuntimeDefault
  containers:
    - name: strongroom
      image: {{ include "strongroom.image" . | quote }}
      imagePullPolicy: {{ .Values.image.pullPolicy }}
      securityContext:
        allowPrivilegeEscalation: false
        readOnlyRootFilesystem: true
        capabilities:
          drop: [ALL]
      env:
        - name: STRONGROOM_HOST
          value: "0.0.0.0"
        - name: STRONGROOM_PUBLIC_URL
          value: {{ required "publicUrl is required" .Values.publicUrl | quote }}
        - name: STRONGROOM_ROOT_KEY_FILE
          value: /run/strongroom/root.key
        - name: STRONGROOM_LOG_FORMAT
          value: json
        {{- if .Values.newDatabase }}
        - name: STRONGROOM_NEW_DATABASE
          value: "true"
        {{- end }}
        {{- if .Values.tls.secretName }}
        - name: STRONGROOM_TLS_CERT
          value: /run/strongroom-tls/tls.crt
        - name: STRONGROOM_TLS_KEY
          value: /run/strongroom-tls/tls.key
        {{- else }}
        - name: STRONGROOM_BEHIND_PROXY
          value: {{ .Values.behindProxy | join "," | required "tls.secretName or behindProxy is required" | quote }}
        {{- end }}
        {{- if .Values.database.secretName }}
        - name: STRONGROOM_DATABASE_URL_FILE
          value: /run/strongroom-database/{{ .Values.database.key }}
        {{- end }}
        {{- if .Values.metrics.enabled }}
        - name: STRONGROOM_METRICS_PORT
          value: {{ .Values.metrics.port | quote }}
        - name: STRONGROOM_METRICS_HOST
          value: "0.0.0.0"
        {{- end }}
        {{- with .Values.env }}
        {{- toYaml . | nindent 8 }}
        {{- end }}
      ports:
        - name: vault
          containerPort: 8420
        {{- if .Values.metrics.enabled }}
        - name: metrics
          containerPort: {{ .Values.metrics.port }}
        {{- end }}
      startupProbe:
        {{- include "strongroom.probe" (dict "root" . "path" "/livez") | nindent 8 }}
        periodSeconds: 2
        failureThreshold: 60
        timeoutSeconds: 5
      livenessProbe:
        {{- include "strongroom.probe" (dict "root" . "path" "/livez") | nindent 8 }}
        periodSeconds: 20
        timeoutSeconds: 5
      readinessProbe:
        {{- include "strongroom.probe" (dict "root" . "path" "/readyz") | nindent 8 }}
        periodSeconds: 5
        timeoutSeconds: 5
      resources:
        {{- toYaml .Values.resources | nindent 8 }}
      volumeMounts:
        - name: data
          mountPath: /data
        - name: tmp
          mountPath: /tmp
        # By subPath, because a root key that is a symbolic link is refused.
        - name: root-key
          mountPath: /run/strongroom/root.key
          subPath: {{ .Values.rootKey.key }}
          readOnly: true
        {{- if .Values.tls.secretName }}
        - name: tls
          mountPath: /run/strongroom-tls
          readOnly: true
        {{- end }}
        {{- if .Values.database.secretName }}
        - name: database
          mountPath: /run/strongroom-database
          readOnly: true
        {{- end }}
  volumes:
    - name: tmp
      emptyDir:
        sizeLimit: 64Mi
    {{- if .Values.database.secretName }}
    - name: data
      emptyDir:
        sizeLimit: 64Mi
    - name: database
      secret:
        secretName: {{ .Values.database.secretName }}
        defaultMode: 256 # 0400
    {{- end }}
    - name: root-key
      secret:
        secretName: {{ required "rootKey.secretName is required" .Values.rootKey.secretName }}
        defaultMode: 256 # 0400
    {{- if .Values.tls.secretName }}
    - name: tls
      secret:
        secretName: {{ .Values.tls.secretName }}
        defaultMode: 256 # 0400
    {{- end }}
  {{- with .Values.nodeSelector }}
  nodeSelector:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with .Values.tolerations }}
  tolerations:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with .Values.affinity }}
  affinity:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with .Values.topologySpreadConstraints }}
  topologySpreadConstraints:
    {{- toYaml . | nindent 4 }}
  {{- end }}
{{- end -}}
