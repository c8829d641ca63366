-- Which redirects are temporary?
SELECT url, status, target FROM redirects WHERE status IN (302, 303, 307) ORDER BY url
