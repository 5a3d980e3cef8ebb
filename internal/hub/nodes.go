package hub

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"custos/internal/hub/credential"
	"custos/internal/hub/protocol"
)

// connsSubject is where servers are asked for their connections (nats-server v2.15.2, events.go).
const connsSubject = "$SYS.REQ.SERVER.PING.CONNZ"

// nodesWithin is how long nodes are waited for that are asked.
const nodesWithin = 2 * time.Second

// askNodes asks all nodes that are there, and returns what each answers, by its name. That none does, or one refuses, is an
// error (nats-server v2.15.2, accounts.go, ServerAPIClaimUpdateResponse, and events.go, ServerAPIResponse).
func (h *Hub) askNodes(subject string, question []byte) (map[string][]byte, error) {
	inbox := h.system.NewInbox()
	sub, err := h.system.SubscribeSync(inbox)
	if err != nil {
		return nil, err
	}
	defer func() { _ = sub.Unsubscribe() }()
	if err := h.system.PublishRequest(subject, inbox, question); err != nil {
		return nil, err
	}
	answers, until := map[string][]byte{}, time.Now().Add(nodesWithin)
	for len(answers) < h.folder.Nodes {
		m, err := sub.NextMsg(time.Until(until))
		if err != nil {
			break // some are down
		}
		var of struct {
			Server struct {
				Name string `json:"name"`
			} `json:"server"`
			Error *struct {
				Description string `json:"description"`
			} `json:"error"`
		}
		if err := json.Unmarshal(m.Data, &of); err != nil || of.Error != nil {
			return nil, fmt.Errorf("a node does not do what it is asked by %s: %s", subject, m.Data[:min(len(m.Data), 500)])
		}
		answers[of.Server.Name] = m.Data
	}
	if len(answers) == 0 {
		return nil, fmt.Errorf("no node answered to %s within %s", subject, nodesWithin)
	}
	return answers, nil
}

// connections is what a server answers (nats-server v2.15.2, monitor.go, Connz).
type connections struct {
	Data struct {
		List []struct {
			JWT string `json:"jwt"`
		} `json:"connections"`
	} `json:"data"`
}

// connectedAs are the keys under which somebody is connected by the name of a host that is revoked: a store that was put
// back from an old copy does not know those that have joined since. Where one key is revoked, it is none.
func (h *Hub) connectedAs(q protocol.Revoke) (keys []string, err error) {
	if q.Key != "" {
		return nil, nil
	}
	question, _ := json.Marshal(map[string]any{"auth": true, "acc": h.keys().Account(), "limit": credential.MaxConnections}) // plain values
	answers, err := h.askNodes(connsSubject, question)
	if err != nil {
		return nil, err
	}
	for _, text := range answers {
		var all connections
		if err := json.Unmarshal(text, &all); err != nil {
			return nil, fmt.Errorf("cannot read who is connected: %w", err)
		}
		for _, c := range all.Data.List {
			if host, key, err := credential.HostOf(c.JWT); err == nil && host == q.Host && !slices.Contains(keys, key) {
				keys = append(keys, key)
			}
		}
	}
	return keys, nil
}
