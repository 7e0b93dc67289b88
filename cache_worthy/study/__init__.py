"""The prefix-cache study: the same requests through a small real server, the cache off and on."""
