-- What opencode 1.18.33 wrote of a conversation, and of a fork of it.
-- Tables that are not read were left out, and the defaults of no use.
CREATE TABLE `session` (
          `id` text PRIMARY KEY,
          `project_id` text NOT NULL,
          `workspace_id` text,
          `parent_id` text,
          `slug` text NOT NULL,
          `directory` text NOT NULL,
          `path` text,
          `title` text NOT NULL,
          `version` text NOT NULL,
          `share_url` text,
          `summary_additions` integer,
          `summary_deletions` integer,
          `summary_files` integer,
          `summary_diffs` text,
          `metadata` text,
          `cost` real DEFAULT 0 NOT NULL,
          `tokens_input` integer DEFAULT 0 NOT NULL,
          `tokens_output` integer DEFAULT 0 NOT NULL,
          `tokens_reasoning` integer DEFAULT 0 NOT NULL,
          `tokens_cache_read` integer DEFAULT 0 NOT NULL,
          `tokens_cache_write` integer DEFAULT 0 NOT NULL,
          `revert` text,
          `permission` text,
          `agent` text,
          `model` text,
          `time_created` integer NOT NULL,
          `time_updated` integer NOT NULL,
          `time_compacting` integer,
          `time_archived` integer
);
CREATE TABLE `message` (
          `id` text PRIMARY KEY,
          `session_id` text NOT NULL,
          `time_created` integer NOT NULL,
          `time_updated` integer NOT NULL,
          `data` text NOT NULL
);
CREATE TABLE `part` (
          `id` text PRIMARY KEY,
          `message_id` text NOT NULL,
          `session_id` text NOT NULL,
          `time_created` integer NOT NULL,
          `time_updated` integer NOT NULL,
          `data` text NOT NULL
);
CREATE INDEX `message_session_time_created_id_idx` ON `message` (`session_id`,`time_created`,`id`);
CREATE INDEX `part_message_id_id_idx` ON `part` (`message_id`,`id`);
CREATE INDEX `part_session_idx` ON `part` (`session_id`);
CREATE INDEX `session_project_idx` ON `session` (`project_id`);
CREATE INDEX `session_workspace_idx` ON `session` (`workspace_id`);
CREATE INDEX `session_parent_idx` ON `session` (`parent_id`);
INSERT INTO session (rowid, "id", "project_id", "workspace_id", "parent_id", "slug", "directory", "path", "title", "version", "share_url", "summary_additions", "summary_deletions", "summary_files", "summary_diffs", "metadata", "cost", "tokens_input", "tokens_output", "tokens_reasoning", "tokens_cache_read", "tokens_cache_write", "revert", "permission", "agent", "model", "time_created", "time_updated", "time_compacting", "time_archived") VALUES (1, 'ses_df5aa9de9ffeCnbqPKwQMsLEk5', '2023705c712f801a06a38c813746be1092c3e426', NULL, NULL, 'neon-nebula', '/home/dev/project', '', 'MOCK answers: done.', '1.18.33', NULL, 0, 0, 0, NULL, NULL, 0.0056565, 1400, 70, 15, 605, 0, NULL, '[{"permission":"question","pattern":"*","action":"deny"},{"permission":"plan_enter","pattern":"*","action":"deny"},{"permission":"plan_exit","pattern":"*","action":"deny"}]', 'build', '{"id":"mock-model","providerID":"mock","variant":"default"}', 1795469697558, 1795469711691, NULL, NULL);
INSERT INTO session (rowid, "id", "project_id", "workspace_id", "parent_id", "slug", "directory", "path", "title", "version", "share_url", "summary_additions", "summary_deletions", "summary_files", "summary_diffs", "metadata", "cost", "tokens_input", "tokens_output", "tokens_reasoning", "tokens_cache_read", "tokens_cache_write", "revert", "permission", "agent", "model", "time_created", "time_updated", "time_compacting", "time_archived") VALUES (2, 'ses_df5aa31b7ffeY25mjJFo48IcMl', '2023705c712f801a06a38c813746be1092c3e426', NULL, NULL, 'shiny-harbor', '/home/dev/project', '', 'MOCK answers: done. (fork #1)', '1.18.33', NULL, 0, 0, 0, NULL, NULL, 0.0085077, 2100, 105, 24, 909, 0, NULL, NULL, 'build', '{"id":"mock-model","providerID":"mock","variant":"default"}', 1795469725256, 1795469745293, NULL, NULL);
INSERT INTO message (rowid, "id", "session_id", "time_created", "time_updated", "data") VALUES (1, 'msg_20a556349001BPFa5SMuznLoJ1', 'ses_df5aa9de9ffeCnbqPKwQMsLEk5', 1795469697865, 1795469711424, '{"role":"user","time":{"created":1795469697865},"agent":"build","model":{"providerID":"mock","modelID":"mock-model"},"summary":{"diffs":[{"file":"custos-proof","patch":"Index: custos-proof\n===================================================================\n--- custos-proof\t\n+++ custos-proof\t\n","additions":0,"deletions":0,"status":"added"}]}}');
INSERT INTO message (rowid, "id", "session_id", "time_created", "time_updated", "data") VALUES (2, 'msg_20a557119001He69i1Vp1qu53f', 'ses_df5aa9de9ffeCnbqPKwQMsLEk5', 1795469701401, 1795469710790, '{"parentID":"msg_20a556349001BPFa5SMuznLoJ1","role":"assistant","mode":"build","agent":"build","path":{"cwd":"/home/dev/project","root":"/home/dev/project"},"cost":0.0028206,"tokens":{"total":1044,"input":700,"output":35,"reasoning":7,"cache":{"write":0,"read":302}},"modelID":"mock-model","providerID":"mock","time":{"created":1795469701401,"completed":1795469710788},"finish":"tool-calls"}');
INSERT INTO message (rowid, "id", "session_id", "time_created", "time_updated", "data") VALUES (3, 'msg_20a5595e3001WwqW7o8cyGdglz', 'ses_df5aa9de9ffeCnbqPKwQMsLEk5', 1795469710819, 1795469711683, '{"parentID":"msg_20a556349001BPFa5SMuznLoJ1","role":"assistant","mode":"build","agent":"build","path":{"cwd":"/home/dev/project","root":"/home/dev/project"},"cost":0.0028359,"tokens":{"total":1046,"input":700,"output":35,"reasoning":8,"cache":{"write":0,"read":303}},"modelID":"mock-model","providerID":"mock","time":{"created":1795469710819,"completed":1795469711682},"finish":"stop"}');
INSERT INTO message (rowid, "id", "session_id", "time_created", "time_updated", "data") VALUES (4, 'msg_20a55ce83001o7MbmWLbsgHH2e', 'ses_df5aa31b7ffeY25mjJFo48IcMl', 1795469697865, 1795469725374, '{"role":"user","time":{"created":1795469697865},"agent":"build","model":{"providerID":"mock","modelID":"mock-model"},"summary":{"diffs":[{"file":"custos-proof","patch":"Index: custos-proof\n===================================================================\n--- custos-proof\t\n+++ custos-proof\t\n","additions":0,"deletions":0,"status":"added"}]}}');
INSERT INTO message (rowid, "id", "session_id", "time_created", "time_updated", "data") VALUES (5, 'msg_20a55eca2001URMGonj0I76ia3', 'ses_df5aa31b7ffeY25mjJFo48IcMl', 1795469701401, 1795469733036, '{"parentID":"msg_20a55ce83001o7MbmWLbsgHH2e","role":"assistant","mode":"build","agent":"build","path":{"cwd":"/home/dev/project","root":"/home/dev/project"},"cost":0.0028206,"tokens":{"total":1044,"input":700,"output":35,"reasoning":7,"cache":{"write":0,"read":302}},"modelID":"mock-model","providerID":"mock","time":{"created":1795469701401,"completed":1795469710788},"finish":"tool-calls"}');
INSERT INTO message (rowid, "id", "session_id", "time_created", "time_updated", "data") VALUES (6, 'msg_20a55ed28001RWP4getrgUOmr3', 'ses_df5aa31b7ffeY25mjJFo48IcMl', 1795469710819, 1795469733176, '{"parentID":"msg_20a55ce83001o7MbmWLbsgHH2e","role":"assistant","mode":"build","agent":"build","path":{"cwd":"/home/dev/project","root":"/home/dev/project"},"cost":0.0028359,"tokens":{"total":1046,"input":700,"output":35,"reasoning":8,"cache":{"write":0,"read":303}},"modelID":"mock-model","providerID":"mock","time":{"created":1795469710819,"completed":1795469711682},"finish":"stop"}');
INSERT INTO message (rowid, "id", "session_id", "time_created", "time_updated", "data") VALUES (7, 'msg_20a55eff0001OC5IpWqctKFuio', 'ses_df5aa31b7ffeY25mjJFo48IcMl', 1795469733872, 1795469735169, '{"role":"user","time":{"created":1795469733872},"agent":"build","model":{"providerID":"mock","modelID":"mock-model"},"summary":{"diffs":[]}}');
INSERT INTO message (rowid, "id", "session_id", "time_created", "time_updated", "data") VALUES (8, 'msg_20a55f1ab001a8xLm7pnWlbS9Z', 'ses_df5aa31b7ffeY25mjJFo48IcMl', 1795469734315, 1795469745254, '{"parentID":"msg_20a55eff0001OC5IpWqctKFuio","role":"assistant","mode":"build","agent":"build","path":{"cwd":"/home/dev/project","root":"/home/dev/project"},"cost":0.0028512,"tokens":{"total":1048,"input":700,"output":35,"reasoning":9,"cache":{"write":0,"read":304}},"modelID":"mock-model","providerID":"mock","time":{"created":1795469734315,"completed":1795469745253},"finish":"stop"}');
INSERT INTO part (rowid, "id", "message_id", "session_id", "time_created", "time_updated", "data") VALUES (1, 'prt_20a556377001kfmSmlZMgwHS5Z', 'msg_20a556349001BPFa5SMuznLoJ1', 'ses_df5aa9de9ffeCnbqPKwQMsLEk5', 1795469701352, 1795469701354, '{"type":"text","text":"\"run the tool\""}');
INSERT INTO part (rowid, "id", "message_id", "session_id", "time_created", "time_updated", "data") VALUES (2, 'prt_20a558c3f0011Jp76bC5FAuzjN', 'msg_20a557119001He69i1Vp1qu53f', 'ses_df5aa9de9ffeCnbqPKwQMsLEk5', 1795469708352, 1795469708361, '{"snapshot":"26c87fb8cc0b0f3c0576e920d72bae36b02323d3","type":"step-start"}');
INSERT INTO part (rowid, "id", "message_id", "session_id", "time_created", "time_updated", "data") VALUES (3, 'prt_20a558c530018Z0FBBZ413CELl', 'msg_20a557119001He69i1Vp1qu53f', 'ses_df5aa9de9ffeCnbqPKwQMsLEk5', 1795469708371, 1795469708485, '{"type":"reasoning","text":"thinking of it","time":{"start":1795469708371,"end":1795469708457}}');
INSERT INTO part (rowid, "id", "message_id", "session_id", "time_created", "time_updated", "data") VALUES (4, 'prt_20a558ced001iTOf6Vrl62lkz0', 'msg_20a557119001He69i1Vp1qu53f', 'ses_df5aa9de9ffeCnbqPKwQMsLEk5', 1795469708525, 1795469709710, '{"type":"tool","tool":"bash","callID":"call_mock2","state":{"status":"completed","input":{"command":"touch custos-proof","description":"Make a proof file"},"output":"(no output)","metadata":{"output":"(no output)","exit":0,"truncated":false},"title":"touch custos-proof","time":{"start":1795469708665,"end":1795469709673}}}');
INSERT INTO part (rowid, "id", "message_id", "session_id", "time_created", "time_updated", "data") VALUES (5, 'prt_20a5592cb001Pure4CigBjHuzR', 'msg_20a557119001He69i1Vp1qu53f', 'ses_df5aa9de9ffeCnbqPKwQMsLEk5', 1795469710028, 1795469710032, '{"reason":"tool-calls","snapshot":"57a004792a250bc526ffc8ef6803b9d143ee2757","type":"step-finish","tokens":{"total":1044,"input":700,"output":35,"reasoning":7,"cache":{"write":0,"read":302}},"cost":0.0028206}');
INSERT INTO part (rowid, "id", "message_id", "session_id", "time_created", "time_updated", "data") VALUES (6, 'prt_20a5595ba001SWhMXkRu5nAldz', 'msg_20a557119001He69i1Vp1qu53f', 'ses_df5aa9de9ffeCnbqPKwQMsLEk5', 1795469710779, 1795469710781, '{"type":"patch","hash":"26c87fb8cc0b0f3c0576e920d72bae36b02323d3","files":["/home/dev/project/custos-proof"]}');
INSERT INTO part (rowid, "id", "message_id", "session_id", "time_created", "time_updated", "data") VALUES (7, 'prt_20a55979f001eDjtP3GaVD2SIL', 'msg_20a5595e3001WwqW7o8cyGdglz', 'ses_df5aa9de9ffeCnbqPKwQMsLEk5', 1795469711263, 1795469711274, '{"snapshot":"57a004792a250bc526ffc8ef6803b9d143ee2757","type":"step-start"}');
INSERT INTO part (rowid, "id", "message_id", "session_id", "time_created", "time_updated", "data") VALUES (8, 'prt_20a5597ab001kVkDhvirPlIBP5', 'msg_20a5595e3001WwqW7o8cyGdglz', 'ses_df5aa9de9ffeCnbqPKwQMsLEk5', 1795469711276, 1795469711311, '{"type":"text","text":"MOCK answers: done.","time":{"start":1795469711276,"end":1795469711310}}');
INSERT INTO part (rowid, "id", "message_id", "session_id", "time_created", "time_updated", "data") VALUES (9, 'prt_20a5598af001XExGmIhPYB0gBp', 'msg_20a5595e3001WwqW7o8cyGdglz', 'ses_df5aa9de9ffeCnbqPKwQMsLEk5', 1795469711535, 1795469711536, '{"reason":"stop","snapshot":"57a004792a250bc526ffc8ef6803b9d143ee2757","type":"step-finish","tokens":{"total":1046,"input":700,"output":35,"reasoning":8,"cache":{"write":0,"read":303}},"cost":0.0028359}');
INSERT INTO part (rowid, "id", "message_id", "session_id", "time_created", "time_updated", "data") VALUES (10, 'prt_20a55ec81001JMeoGFEGKmDEYM', 'msg_20a55ce83001o7MbmWLbsgHH2e', 'ses_df5aa31b7ffeY25mjJFo48IcMl', 1795469732993, 1795469733025, '{"type":"text","text":"\"run the tool\""}');
INSERT INTO part (rowid, "id", "message_id", "session_id", "time_created", "time_updated", "data") VALUES (11, 'prt_20a55ecb7001i2g6p9EKTVhJua', 'msg_20a55eca2001URMGonj0I76ia3', 'ses_df5aa31b7ffeY25mjJFo48IcMl', 1795469733047, 1795469733049, '{"snapshot":"26c87fb8cc0b0f3c0576e920d72bae36b02323d3","type":"step-start"}');
INSERT INTO part (rowid, "id", "message_id", "session_id", "time_created", "time_updated", "data") VALUES (12, 'prt_20a55ecb9001Rp50KmxjL92Mh3', 'msg_20a55eca2001URMGonj0I76ia3', 'ses_df5aa31b7ffeY25mjJFo48IcMl', 1795469733049, 1795469733072, '{"type":"reasoning","text":"thinking of it","time":{"start":1795469708371,"end":1795469708457}}');
INSERT INTO part (rowid, "id", "message_id", "session_id", "time_created", "time_updated", "data") VALUES (13, 'prt_20a55ecdb001ljQ5pUcTEO1M6b', 'msg_20a55eca2001URMGonj0I76ia3', 'ses_df5aa31b7ffeY25mjJFo48IcMl', 1795469733084, 1795469733098, '{"type":"tool","tool":"bash","callID":"call_mock2","state":{"status":"completed","input":{"command":"touch custos-proof","description":"Make a proof file"},"output":"(no output)","metadata":{"output":"(no output)","exit":0,"truncated":false},"title":"touch custos-proof","time":{"start":1795469708665,"end":1795469709673}}}');
INSERT INTO part (rowid, "id", "message_id", "session_id", "time_created", "time_updated", "data") VALUES (14, 'prt_20a55eceb001WEWUcJr47iDqL6', 'msg_20a55eca2001URMGonj0I76ia3', 'ses_df5aa31b7ffeY25mjJFo48IcMl', 1795469733099, 1795469733130, '{"reason":"tool-calls","snapshot":"57a004792a250bc526ffc8ef6803b9d143ee2757","type":"step-finish","tokens":{"total":1044,"input":700,"output":35,"reasoning":7,"cache":{"write":0,"read":302}},"cost":0.0028206}');
INSERT INTO part (rowid, "id", "message_id", "session_id", "time_created", "time_updated", "data") VALUES (15, 'prt_20a55ed14001RI2EGb7r3AcVj3', 'msg_20a55eca2001URMGonj0I76ia3', 'ses_df5aa31b7ffeY25mjJFo48IcMl', 1795469733140, 1795469733147, '{"type":"patch","hash":"26c87fb8cc0b0f3c0576e920d72bae36b02323d3","files":["/home/dev/project/custos-proof"]}');
INSERT INTO part (rowid, "id", "message_id", "session_id", "time_created", "time_updated", "data") VALUES (16, 'prt_20a55ed39001hKP5Is28yRxW7q', 'msg_20a55ed28001RWP4getrgUOmr3', 'ses_df5aa31b7ffeY25mjJFo48IcMl', 1795469733177, 1795469733178, '{"snapshot":"57a004792a250bc526ffc8ef6803b9d143ee2757","type":"step-start"}');
INSERT INTO part (rowid, "id", "message_id", "session_id", "time_created", "time_updated", "data") VALUES (17, 'prt_20a55ed3b001kyc72QCafkYWx9', 'msg_20a55ed28001RWP4getrgUOmr3', 'ses_df5aa31b7ffeY25mjJFo48IcMl', 1795469733179, 1795469733221, '{"type":"text","text":"MOCK answers: done.","time":{"start":1795469711276,"end":1795469711310}}');
INSERT INTO part (rowid, "id", "message_id", "session_id", "time_created", "time_updated", "data") VALUES (18, 'prt_20a55ed66001N8CmxSxjIS4F9M', 'msg_20a55ed28001RWP4getrgUOmr3', 'ses_df5aa31b7ffeY25mjJFo48IcMl', 1795469733222, 1795469733223, '{"reason":"stop","snapshot":"57a004792a250bc526ffc8ef6803b9d143ee2757","type":"step-finish","tokens":{"total":1046,"input":700,"output":35,"reasoning":8,"cache":{"write":0,"read":303}},"cost":0.0028359}');
INSERT INTO part (rowid, "id", "message_id", "session_id", "time_created", "time_updated", "data") VALUES (19, 'prt_20a55f0710018PPii44Zj1y1w9', 'msg_20a55eff0001OC5IpWqctKFuio', 'ses_df5aa31b7ffeY25mjJFo48IcMl', 1795469734067, 1795469734088, '{"type":"text","text":"\"hello again\""}');
INSERT INTO part (rowid, "id", "message_id", "session_id", "time_created", "time_updated", "data") VALUES (20, 'prt_20a5619d00015r2OTZL8dQc7cU', 'msg_20a55f1ab001a8xLm7pnWlbS9Z', 'ses_df5aa31b7ffeY25mjJFo48IcMl', 1795469744596, 1795469744601, '{"snapshot":"57a004792a250bc526ffc8ef6803b9d143ee2757","type":"step-start"}');
INSERT INTO part (rowid, "id", "message_id", "session_id", "time_created", "time_updated", "data") VALUES (21, 'prt_20a5619e2001f2IGvNP9HyiTdF', 'msg_20a55f1ab001a8xLm7pnWlbS9Z', 'ses_df5aa31b7ffeY25mjJFo48IcMl', 1795469744611, 1795469744673, '{"type":"text","text":"MOCK answers: done.","time":{"start":1795469744610,"end":1795469744647}}');
INSERT INTO part (rowid, "id", "message_id", "session_id", "time_created", "time_updated", "data") VALUES (22, 'prt_20a561b52001HBpqZNLg3LY32H', 'msg_20a55f1ab001a8xLm7pnWlbS9Z', 'ses_df5aa31b7ffeY25mjJFo48IcMl', 1795469744979, 1795469744995, '{"reason":"stop","snapshot":"57a004792a250bc526ffc8ef6803b9d143ee2757","type":"step-finish","tokens":{"total":1048,"input":700,"output":35,"reasoning":9,"cache":{"write":0,"read":304}},"cost":0.0028512}');
