package store

import "context"

// asideRow is a row that could not be read, and was moved out of the way whole.
type asideRow struct {
	Wall string `json:"wall"` // when, RFC 3339
	What string `json:"what"` // the table it was in
	Key  string `json:"key"`
	Why  string `json:"why"`
	JSON string `json:"json"` // what it held
}

// SetAside lists the rows that could not be read, oldest first.
func (s *Store) SetAside(ctx context.Context) ([]asideRow, error) {
	const what = "list what was set aside"
	rows, err := s.r.QueryContext(ctx, "SELECT wall, what, key, why, json FROM set_aside ORDER BY id LIMIT 1000")
	if err != nil {
		return nil, failed(what, err)
	}
	defer rows.Close()
	var out []asideRow
	for rows.Next() {
		var a asideRow
		if err := rows.Scan(&a.Wall, &a.What, &a.Key, &a.Why, &a.JSON); err != nil {
			return nil, failed(what, err)
		}
		out = append(out, a)
	}
	return out, failed(what, rows.Err())
}
